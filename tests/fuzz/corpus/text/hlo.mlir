HloModule m
ENTRY e { ROOT p = f32[] parameter(0) }
