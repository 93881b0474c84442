module attributes {a = #nowhere} {
}
