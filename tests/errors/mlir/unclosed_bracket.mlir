module attributes {a = #x.y<[1}>} {
}
