module attributes {a = "\q"} {
}
