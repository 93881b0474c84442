// from a compiler
HloModule jit_f, entry_computation_layout={()->f32[]}
