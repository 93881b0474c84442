{
  "schema": 1
}
