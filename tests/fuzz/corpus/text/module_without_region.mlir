"builtin.module"() : () -> ui8
