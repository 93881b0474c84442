func.func @"ÿþ"(%Ã¤: i1) { return }
