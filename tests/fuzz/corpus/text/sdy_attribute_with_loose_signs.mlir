func.func private @f(tensor<8xf32> {x = #sdy.sharding<@m, [(a < =b>)]>})
func.func private @g(tensor<8xf32> {x = #sdy.sharding<@m, [(<a> =b)]>})
func.func private @h(tensor<8xf32> {x = #sdy.sharding<@m, [{"a\" = b"}]>})
func.func private @i(tensor<8xf32> {x = #sdy.sharding<@m- >})
