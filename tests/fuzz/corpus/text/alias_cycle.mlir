#a = [#b]
#b = {x = #a}
#c = #c
!t = tuple<!u>
!u = tuple<!t>
"foo.x"() {a = #a, c = #c, t = !t} : () -> ()
