module {
} loc(#loc)
#loc = loc("x"(#loc1))
#loc1 = loc("y"(#loc))
