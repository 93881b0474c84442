func.func @f() { return }
{-#
  dialect_resources: { builtin: { blob: "0x04