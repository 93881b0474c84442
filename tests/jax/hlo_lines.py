"""Instructions that JAX seldom or never leaves in its programs, in XLA's own syntax: rare operations, attributes, literals,
layouts and groups. `cases()` yields (name, text of a module). XLA's parser must take every text."""

PROLOGUE = """HloModule t, num_partitions=8
add { x = f32[] parameter(0)
 y = f32[] parameter(1)
 ROOT s = f32[] add(x, y) }
ENTRY e {
 a = f32[4,8] parameter(0)
 b = f32[8,4] parameter(1)
 z = f32[] constant(0)
 i = s32[] constant(2)
"""

LINES = r"""
ROOT r = f32[4,8] all-reduce(a), replica_groups=mesh['x'=2,'y'=4] {'y'}, to_apply=add, channel_id=1, use_global_device_ids=true
---
ROOT r = f32[4,8] all-reduce(a), replica_groups=mesh['x'=2,'y'=4] {'y':(1)2}, to_apply=add, channel_id=1, use_global_device_ids=true
---
ROOT r = f32[4,8] all-reduce(a), replica_groups=mesh['x'=2,'y'=4] {'y':(2)2,'x'}, to_apply=add, channel_id=1, use_global_device_ids=true
---
ROOT r = f32[4,8] all-reduce(a), replica_groups=mesh['x'=2,'y'=4] {'x','y'}, to_apply=add, channel_id=1, use_global_device_ids=true
---
ROOT r = f32[4,8] all-reduce(a), replica_groups=mesh['x'=8] {'x':(2)2}, to_apply=add, channel_id=1, use_global_device_ids=true
---
ROOT r = f32[4,8] all-reduce(a), replica_groups=mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0)) {'y'}, to_apply=add, channel_id=1, use_global_device_ids=true
---
ROOT r = f32[4,8] all-reduce(a), replica_groups=mesh['x'=2,'y'=4], device_ids=(0,2,4,6,1,3,5,7) {'x'}, to_apply=add, channel_id=1, use_global_device_ids=true
---
ROOT r = f32[4,8] all-reduce(a), replica_groups=[2,4]<=[4,2]T(1,0), to_apply=add, channel_id=1, use_global_device_ids=true
---
ROOT r = f32[4,8] all-reduce(a), replica_groups=[4,2]<=[2,2,2]T(2,0,1), to_apply=add, channel_id=1, use_global_device_ids=true
---
ROOT r = f32[4,8] all-reduce(a), replica_groups={{0,1,2},{3}}, constrain_layout=true, to_apply=add
---
ROOT r = f32[2] constant({nan, -inf})
---
ROOT r = f32[2] constant({-nan, nan(0x12)})
---
ROOT r = pred[2] constant({1, 0})
---
ROOT r = f8e4m3fn[2] constant({448, nan})
---
ROOT r = f8e5m2[2] constant({-inf, 57344})
---
ROOT r = u4[2] constant({15, 3})
---
ROOT r = s2[3] constant({-2, -1, 1})
---
ROOT r = u2[2] constant({3, 0})
---
ROOT r = f4e2m1fn[2] constant({6, -0.5})
---
ROOT r = f8e8m0fnu[2] constant({1, 2})
---
ROOT r = c64[2] constant({(1, -inf), (nan, 2e-3)})
---
ROOT r = u64[1] constant({18446744073709551615})
---
ROOT r = s64[2,0] constant({ { }, { } })
---
ROOT r = bf16[2,2] constant({ { 1, 2 }, /*i0=1*/ { 3, 4.5 } })
---
ROOT r = (f32[4], s32[2]) constant(({1,2,3,4}, {1,2}))
---
c = (f32[], (s32[2], pred[])) constant((1, ({1,2}, true)))
d = (s32[2], pred[]) get-tuple-element(c), index=1
ROOT r = s32[2] get-tuple-element(d), index=0
---
n = s32[] constant(32)
ROOT r = f32[32] dynamic-reshape(a, n)
---
n = s32[] constant(8)
m = s32[] constant(4)
ROOT r = f32[<=8,4] dynamic-reshape(a, n, m)
---
ROOT r = f32[4,<=8] set-dimension-size(a, i), dimensions={1}
---
ROOT r = s32[] get-dimension-size(a), dimensions={1}
---
ROOT r = f32[4,8] negate(a), control-predecessors={z, i}
---
ROOT r = f32[4,8] negate(a), origin={{"x"}}, statistics={visualizing_index=0,stat-0=1}
---
ROOT r = f32[4,8] negate(a), sharding={devices=[2,1,4]<=[8] last_tile_dim_replicate}
---
ROOT r = f32[4,8] negate(a), sharding={mesh['x'=2,'y'=4], [{'x'},{'y'}]}
---
ROOT r = f32[4,8] negate(a), metadata={op_type="x" op_name="a\"b}" source_file="c" source_line=3}
---
ROOT r = f32[4,8]{1,0:T(8,128)(2,1)S(1)} negate(a)
---
ROOT r = f32[4,8]{1,0:E(4)} copy(a)
---
ROOT r = f32[4,8]{0,1:T(2,128)L(1024)} copy(a)
---
k = token[] after-all()
ROOT r = ((f32[3]{0:T(8)}, s32[]), token[]) infeed(k), infeed_config="\001x"
---
k = token[] after-all()
ROOT r = token[] outfeed(a, k), outfeed_shape=f32[4,8]{0,1}, outfeed_config="x"
---
k = token[] after-all()
s = (f32[4,8], u32[], token[]) send(a, k), channel_id=2, is_host_transfer=true, frontend_attributes={_xla_host_transfer_rendezvous="x"}
ROOT r = token[] send-done(s), channel_id=2, is_host_transfer=true
---
k = token[] after-all()
s = (f32[4,8], u32[], token[]) recv(k), channel_id=2, frontend_attributes={_xla_send_recv_source_target_pairs={{0,1},{1,2}}}
ROOT r = (f32[4,8], token[]) recv-done(s), channel_id=2
---
k = token[] after-all()
ROOT r = f32[4,8] add-dependency(a, k)
---
ROOT r = f32[4,8] collective-permute(a), source_target_pairs={{0,1},{1,0}}
---
c = f32[4,8] copy(a)
ROOT r = (f32[4,8], f32[4,8]) collective-permute(a, c), source_target_pairs={{0,1},{1,0}}
---
ROOT r = f32[16,8] all-gather(a), dimensions={0}, replica_groups=[2,4]<=[8]
---
ROOT r = (f32[16,8], f32[32,4]) all-gather(a, b), dimensions={0}, replica_groups=[2,4]<=[8]
---
s = ((f32[4,8], f32[8,4]), (f32[16,8], f32[32,4])) all-gather-start(a, b), dimensions={0}, replica_groups=[2,4]<=[8]
ROOT r = (f32[16,8], f32[32,4]) all-gather-done(s)
---
s = (f32[4,8], f32[16,8]) all-gather-start(a), dimensions={0}, replica_groups=[2,4]<=[8]
ROOT r = f32[16,8] all-gather-done(s)
---
ROOT r = (f32[2,8], f32[4,4]) reduce-scatter(a, b), replica_groups={{0,1}}, dimensions={0}, to_apply=add
---
s = ((f32[4,8]), f32[2,8]) reduce-scatter-start(a), replica_groups={{0,1}}, dimensions={0}, to_apply=add
ROOT r = f32[2,8] reduce-scatter-done(s)
---
s = f32[4,8] all-reduce-start(a), replica_groups={{0,1}}, to_apply=add
ROOT r = f32[4,8] all-reduce-done(s)
---
s = (f32[4,8], f32[4,8]) all-reduce-start(a, a), replica_groups={{0,1}}, to_apply=add
ROOT r = (f32[4,8], f32[4,8]) all-reduce-done(s)
---
s = (f32[4,8], f32[4,8], u32[], u32[]) collective-permute-start(a), source_target_pairs={{0,1},{1,0}}
ROOT r = f32[4,8] collective-permute-done(s)
---
s = ((f32[4,8]), f32[4,8], u32[], u32[]) all-to-all-start(a), replica_groups={{0,1}}, dimensions={0}
ROOT r = f32[4,8] all-to-all-done(s)
---
ROOT r = f32[4,8] all-to-all(a), replica_groups={{0,1,2,3}}, dimensions={1}
---
ROOT r = (f32[4,8], f32[4,8]) all-to-all(a, a), replica_groups={{0,1}}
---
o = s64[2] constant({0,0})
ROOT r = f32[4,8] ragged-all-to-all(a, a, o, o, o, o), replica_groups={{0,1}}
---
ROOT r = f32[4,8] collective-broadcast(a), replica_groups={{0,1}}
---
s = ((f32[4,8]), f32[8,4], u32[]) custom-call-start(a), custom_call_target="foo"
ROOT r = f32[8,4] custom-call-done(s)
---
s = ((f32[4,8]), f32[4,8], s32[]) async-start(a), async_execution_thread="parallel", calls={ q = f32[4,8] parameter(0)
 ROOT n = f32[4,8] negate(q) }
u = ((f32[4,8]), f32[4,8], s32[]) async-update(s)
ROOT r = f32[4,8] async-done(u)
---
s = ((f32[4,8]), f32[2,8], s32[]) slice-start(a), slice={[0:2],[0:8]}
u = ((f32[4,8]), f32[2,8], s32[]) slice-update(s)
ROOT r = f32[2,8] slice-done(u)
---
s = (f32[4,8], f32[4,8], u32[]) copy-start(a), cross_program_prefetch_index=0
ROOT r = f32[4,8] copy-done(s)
---
ROOT r = (f32[4,2], s32[4,2]) topk(a), k=2, largest=true
---
ROOT r = (f32[4,2], s32[4,2]) topk(a), k=2, largest=false
---
k = u32[4,8] iota(), iota_dimension=0
ROOT r = s8[4,8] stochastic-convert(a, k)
---
ROOT r = f32[4,8] domain(a), domain={kind="sharding", entry={maximal device=0}, exit={maximal device=1}}
---
c = f32[8] broadcast(z), dimensions={}
ROOT r = (f32[4,8], f32[8]) scan(a, c), dimensions={0}, num_carries=1, is_reverse=true, is_associative=true, to_apply={ x = f32[8] parameter(0)
 y = f32[8] parameter(1)
 s = f32[8] add(x,y)
 ROOT t = (f32[8], f32[8]) tuple(s,s) }
---
u = u32[4] iota(), iota_dimension=0
ROOT r = u32[4] mulhi(u,u)
---
l = f8e4m3fn[4,8] convert(a)
sl = f8e8m0fnu[4,1] iota(), iota_dimension=0
ROOT r = f32[4,4] scaled-dot(l, l, sl, sl), lhs_contracting_dims={1}, rhs_contracting_dims={1}
---
g = s32[2] constant({2,2})
w = f32[2,8,5] broadcast(z), dimensions={}
ROOT r = f32[4,5] ragged-dot(a, w, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}
---
ROOT r = u64[2] rng-get-and-update-state(), delta=1
---
n = f32[] constant(1)
ROOT r = f32[4,8] rng(z, n), distribution=rng_uniform
---
st = u64[2] constant({1,2})
ROOT r = (u64[2], u32[8]) rng-bit-generator(st), algorithm=rng_philox
---
ROOT r = f32[4,8] custom-call(a), custom_call_target="x", called_computations={add}, operand_layout_constraints={f32[4,8]{1,0}}, api_version=API_VERSION_TYPED_FFI, backend_config={a = 1 : i32}, output_to_operand_aliasing={{}: (0, {})}
---
ROOT r = f32[4,8] custom-call(a), custom_call_target="x", to_apply=add, schedule=SCHEDULE_EARLIEST, window={size=1x1}, dim_labels=bf_io->bf, feature_group_count=1, literal=f32[] 1
---
ROOT r = f32[4,8]{1,0} custom-call(a), custom_call_target="x", api_version=API_VERSION_STATUS_RETURNING, backend_config="a,b}"
---
ROOT r = f32[4,8] acosh(a), result_accuracy={tolerance={atol=0,rtol=0,ulps=2}}
---
ROOT r = f32[4,8] exponential(a), result_accuracy={mode=highest}
---
ROOT r = f32[4,8] reduce-precision(a), exponent_bits=5, mantissa_bits=10
---
ROOT r = f32[4,8] fusion(a), kind=kLoop, calls={ p = f32[4,8] parameter(0)
 ROOT n = f32[4,8] negate(p) }
---
c = pred[] constant(true)
ROOT r = f32[4,8] conditional(c, a, a), true_computation={ q = f32[4,8] parameter(0)
 ROOT n = f32[4,8] negate(q) }, false_computation={ q = f32[4,8] parameter(0)
 ROOT n = f32[4,8] abs(q) }
---
ROOT r = f32[4,8] conditional(i, a, a), branch_computations={{ q = f32[4,8] parameter(0)
 ROOT n = f32[4,8] negate(q) }, { q = f32[4,8] parameter(0)
 ROOT n = f32[4,8] abs(q) }}
---
p = (f32[4,8], f32[8,4]) tuple(a, b)
ROOT r = (f32[4,8], f32[8,4]) opt-barrier(p)
---
k = f32[3,8,16] broadcast(z), dimensions={}
v = f32[1,4,8] reshape(a)
ROOT r = f32[1,2,16] convolution(v, k), window={size=3 stride=2 pad=1_0 rhs_reversal=1}, dim_labels=b0f_0io->b0f, operand_precision={highest,default}
---
ROOT r = f32[4,4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}, algorithm=dot_tf32_tf32_f32_x3
---
ROOT r = f32[5,16] pad(a, z), padding=1_0x0_1_1
---
ROOT r = f32[4,8] call(a), to_apply={ q = f32[4,8] parameter(0)
 ROOT n = f32[4,8] abs(q) }
---
ROOT r = f32[4,8] while(a), condition={ q = f32[4,8] parameter(0)
 ROOT t = pred[] constant(false) }, body={ q = f32[4,8] parameter(0)
 ROOT n = f32[4,8] abs(q) }, backend_config={"known_trip_count":{"n":"12"}}
"""


def cases():
    for line in LINES.strip("\n").split("\n---\n"):
        yield line.replace("\n", " "), PROLOGUE + line + "\n}\n"
