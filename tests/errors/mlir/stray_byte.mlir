module {
  
}
