module attributes {a = "no end} {
}
