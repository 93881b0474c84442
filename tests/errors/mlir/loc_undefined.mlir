module {
} loc(#loc7)
