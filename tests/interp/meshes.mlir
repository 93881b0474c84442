// Groups by axes of a mesh, and manual computations, on grids of processes. The groups are those that StableHLO's own expansion
// to dense replica groups gives (its test mesh_axes_replica_group_compatibility): for a mesh x=2, y=2, axes [x] are the groups
// [[0, 2], [1, 3]], axes [y] [[0, 1], [2, 3]], and axes [x] with device_ids [0, 2, 1, 3] [[0, 1], [2, 3]].

// Four replicas bring 1, 2, 4, 8; those of a group add theirs: 1 + 4 and 2 + 8.
module @axis_x {
  func.func @sum(%x: tensor<i64>) -> tensor<i64> {
    %0 = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %s = stablehlo.add %a, %b : tensor<i64>
      stablehlo.return %s : tensor<i64>
    }) {replica_groups = #stablehlo.replica_group_mesh_axes<
          mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>, #stablehlo.mesh_axis<name = "y", size = 2>]>,
          axes = [#stablehlo.axis_ref<name = "x">]>} : (tensor<i64>) -> tensor<i64>
    return %0 : tensor<i64>
  }
  func.func @main() {
    %a = stablehlo.constant dense<1> : tensor<i64>
    %b = stablehlo.constant dense<2> : tensor<i64>
    %c = stablehlo.constant dense<4> : tensor<i64>
    %d = stablehlo.constant dense<8> : tensor<i64>
    %r:4 = "interpreter.run_parallel"(%a, %b, %c, %d) {programs = [[@sum], [@sum], [@sum], [@sum]]}
      : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>)
    check.expect_eq_const %r#0, dense<5> : tensor<i64>
    check.expect_eq_const %r#1, dense<10> : tensor<i64>
    check.expect_eq_const %r#2, dense<5> : tensor<i64>
    check.expect_eq_const %r#3, dense<10> : tensor<i64>
    return
  }
}

// -----

// The mesh is a symbol and its devices are in another order: groups 0, 1 and 2, 3. Members come in the order of the axis.
module @device_ids {
  sdy.mesh @mesh = <["x"=2, "y"=2], device_ids=[0, 2, 1, 3]>
  func.func @gather(%x: tensor<1xi64>) -> tensor<2xi64> {
    %0 = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>,
      use_global_device_ids,
      replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>}
      : (tensor<1xi64>) -> tensor<2xi64>
    return %0 : tensor<2xi64>
  }
  func.func @main() {
    %a = stablehlo.constant dense<1> : tensor<1xi64>
    %b = stablehlo.constant dense<2> : tensor<1xi64>
    %c = stablehlo.constant dense<4> : tensor<1xi64>
    %d = stablehlo.constant dense<8> : tensor<1xi64>
    %r:4 = "interpreter.run_parallel"(%a, %b, %c, %d) {programs = [[@gather, @gather, @gather, @gather]]}
      : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> (tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>)
    check.expect_eq_const %r#0, dense<[1, 2]> : tensor<2xi64>
    check.expect_eq_const %r#1, dense<[1, 2]> : tensor<2xi64>
    check.expect_eq_const %r#2, dense<[4, 8]> : tensor<2xi64>
    check.expect_eq_const %r#3, dense<[4, 8]> : tensor<2xi64>
    return
  }
}

// -----

// Axes in the order y, x: device (x, y) is 2 x + y, so the members are 0, 2 (y = 0), then 1, 3.
module @order {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @gather(%x: tensor<1xi64>) -> tensor<4xi64> {
    %0 = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64,
      replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y">, #stablehlo.axis_ref<name = "x">]>}
      : (tensor<1xi64>) -> tensor<4xi64>
    return %0 : tensor<4xi64>
  }
  func.func @main() {
    %a = stablehlo.constant dense<1> : tensor<1xi64>
    %b = stablehlo.constant dense<2> : tensor<1xi64>
    %c = stablehlo.constant dense<4> : tensor<1xi64>
    %d = stablehlo.constant dense<8> : tensor<1xi64>
    %r:4 = "interpreter.run_parallel"(%a, %b, %c, %d) {programs = [[@gather], [@gather], [@gather], [@gather]]}
      : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> (tensor<4xi64>, tensor<4xi64>, tensor<4xi64>, tensor<4xi64>)
    check.expect_eq_const %r#0, dense<[1, 4, 2, 8]> : tensor<4xi64>
    check.expect_eq_const %r#3, dense<[1, 4, 2, 8]> : tensor<4xi64>
    return
  }
}

// -----

// Parts of an axis of 4: (1)2 is the coarse half, which pairs 0 with 2 and 1 with 3; (2)2 the fine one, 0 with 1 and 2 with 3.
module @parts {
  sdy.mesh @mesh = <["x"=4]>
  func.func @coarse_then_fine(%x: tensor<i64>) -> (tensor<i64>, tensor<i64>) {
    %0 = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %s = stablehlo.add %a, %b : tensor<i64>
      stablehlo.return %s : tensor<i64>
    }) {replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x", sub_axis_info = (1)2>]>}
      : (tensor<i64>) -> tensor<i64>
    %1 = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %s = stablehlo.add %a, %b : tensor<i64>
      stablehlo.return %s : tensor<i64>
    }) {replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x", sub_axis_info = (2)2>]>}
      : (tensor<i64>) -> tensor<i64>
    return %0, %1 : tensor<i64>, tensor<i64>
  }
  func.func @main() {
    %a = stablehlo.constant dense<1> : tensor<i64>
    %b = stablehlo.constant dense<2> : tensor<i64>
    %c = stablehlo.constant dense<4> : tensor<i64>
    %d = stablehlo.constant dense<8> : tensor<i64>
    %r:8 = "interpreter.run_parallel"(%a, %b, %c, %d)
      {programs = [[@coarse_then_fine], [@coarse_then_fine], [@coarse_then_fine], [@coarse_then_fine]]}
      : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>)
      -> (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>)
    check.expect_eq_const %r#0, dense<5> : tensor<i64>
    check.expect_eq_const %r#1, dense<3> : tensor<i64>
    check.expect_eq_const %r#6, dense<10> : tensor<i64>
    check.expect_eq_const %r#7, dense<12> : tensor<i64>
    return
  }
}

// -----

// Rows are cut along x, columns along y; every device multiplies its part by its number plus one, and the parts are put
// together again. Devices 0, 1 have rows 0; columns 0, 1 are theirs in this order.
module @manual {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @f(%x: tensor<2x2xi64>) -> tensor<2x2xi64> {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>]
        manual_axes={"x", "y"} (%part: tensor<1x1xi64>) {
      %id = stablehlo.partition_id : tensor<ui32>
      %wide = stablehlo.convert %id : (tensor<ui32>) -> tensor<i64>
      %one = stablehlo.constant dense<1> : tensor<i64>
      %factor = stablehlo.add %wide, %one : tensor<i64>
      %all = stablehlo.broadcast_in_dim %factor, dims = [] : (tensor<i64>) -> tensor<1x1xi64>
      %y = stablehlo.multiply %part, %all : tensor<1x1xi64>
      sdy.return %y : tensor<1x1xi64>
    } : (tensor<2x2xi64>) -> tensor<2x2xi64>
    %1 = sdy.all_gather [{"x"}, {}] %0 out_sharding=<@mesh, [{}, {"y"}]> : tensor<2x2xi64>
    return %1 : tensor<2x2xi64>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[[10, 20], [30, 40]]> : tensor<2x2xi64>
    %r:4 = "interpreter.run_parallel"(%x, %x, %x, %x) {programs = [[@f, @f, @f, @f]]}
      : (tensor<2x2xi64>, tensor<2x2xi64>, tensor<2x2xi64>, tensor<2x2xi64>)
      -> (tensor<2x2xi64>, tensor<2x2xi64>, tensor<2x2xi64>, tensor<2x2xi64>)
    check.expect_eq_const %r#0, dense<[[10, 40], [90, 160]]> : tensor<2x2xi64>
    check.expect_eq_const %r#3, dense<[[10, 40], [90, 160]]> : tensor<2x2xi64>
    return
  }
}

// -----

// Only y is manual: x stays free, so its two rows of devices compute the same. A sum over y within: columns 1 + 2 and 3 + 4.
module @half_manual {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @f(%x: tensor<2x2xi64>) -> tensor<2x1xi64> {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {}]>]
        manual_axes={"y"} (%part: tensor<2x1xi64>) {
      %y = "stablehlo.all_reduce"(%part) ({
      ^bb0(%a: tensor<i64>, %b: tensor<i64>):
        %s = stablehlo.add %a, %b : tensor<i64>
        stablehlo.return %s : tensor<i64>
      }) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids,
          replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>} : (tensor<2x1xi64>) -> tensor<2x1xi64>
      sdy.return %y : tensor<2x1xi64>
    } : (tensor<2x2xi64>) -> tensor<2x1xi64>
    return %0 : tensor<2x1xi64>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
    %r:4 = "interpreter.run_parallel"(%x, %x, %x, %x) {programs = [[@f, @f, @f, @f]]}
      : (tensor<2x2xi64>, tensor<2x2xi64>, tensor<2x2xi64>, tensor<2x2xi64>)
      -> (tensor<2x1xi64>, tensor<2x1xi64>, tensor<2x1xi64>, tensor<2x1xi64>)
    check.expect_eq_const %r#0, dense<[[3], [7]]> : tensor<2x1xi64>
    check.expect_eq_const %r#2, dense<[[3], [7]]> : tensor<2x1xi64>
    return
  }
}

// -----

// The same cut by GSPMD's custom calls, with devices in the order 1, 0: device 1 has row 0. Each adds ten times its number.
module @tiles {
  func.func @f(%x: tensor<2x2xi64>) -> tensor<2x2xi64> {
    %0 = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "{devices=[2,1]1,0}"} : (tensor<2x2xi64>) -> tensor<2x2xi64>
    %part = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"} : (tensor<2x2xi64>) -> tensor<1x2xi64>
    %id = stablehlo.partition_id : tensor<ui32>
    %wide = stablehlo.convert %id : (tensor<ui32>) -> tensor<i64>
    %ten = stablehlo.constant dense<10> : tensor<i64>
    %more = stablehlo.multiply %wide, %ten : tensor<i64>
    %all = stablehlo.broadcast_in_dim %more, dims = [] : (tensor<i64>) -> tensor<1x2xi64>
    %y = stablehlo.add %part, %all : tensor<1x2xi64>
    %1 = stablehlo.custom_call @SPMDShardToFullShape(%y) {mhlo.sharding = "{devices=[2,1]1,0}"} : (tensor<1x2xi64>) -> tensor<2x2xi64>
    return %1 : tensor<2x2xi64>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
    %r:2 = "interpreter.run_parallel"(%x, %x) {programs = [[@f, @f]]}
      : (tensor<2x2xi64>, tensor<2x2xi64>) -> (tensor<2x2xi64>, tensor<2x2xi64>)
    check.expect_eq_const %r#0, dense<[[11, 12], [3, 4]]> : tensor<2x2xi64>
    check.expect_eq_const %r#1, dense<[[11, 12], [3, 4]]> : tensor<2x2xi64>
    return
  }
}

// -----

// "<=[2,2]T(1,0)" are the devices 0, 2, 1, 3: the first dimension's tiles are (0, 2) and (1, 3), the last dimension replicates.
module @iota_tiles {
  func.func @f(%x: tensor<2xi64>) -> tensor<1xi64> {
    %0 = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "{devices=[2,2]<=[2,2]T(1,0) last_tile_dim_replicate}"} : (tensor<2xi64>) -> tensor<2xi64>
    %part = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"} : (tensor<2xi64>) -> tensor<1xi64>
    return %part : tensor<1xi64>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[7, 8]> : tensor<2xi64>
    %r:4 = "interpreter.run_parallel"(%x, %x, %x, %x) {programs = [[@f, @f, @f, @f]]}
      : (tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>)
    check.expect_eq_const %r#0, dense<7> : tensor<1xi64>
    check.expect_eq_const %r#1, dense<8> : tensor<1xi64>
    check.expect_eq_const %r#2, dense<7> : tensor<1xi64>
    check.expect_eq_const %r#3, dense<8> : tensor<1xi64>
    return
  }
}

// -----

// One device: nothing is cut, and the computation runs where it stands. cross-replica-sum of one replica is its operand.
module @alone {
  sdy.mesh @mesh = <["x"=1]>
  func.func @main() {
    %x = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%part: tensor<2xi64>) {
      %y = stablehlo.add %part, %part : tensor<2xi64>
      sdy.return %y : tensor<2xi64>
    } : (tensor<2xi64>) -> tensor<2xi64>
    check.expect_eq_const %0, dense<[2, 4]> : tensor<2xi64>
    %1 = "stablehlo.cross-replica-sum"(%0) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<2xi64>) -> tensor<2xi64>
    check.expect_eq_const %1, dense<[2, 4]> : tensor<2xi64>
    return
  }
}

// -----

// Three replicas, groups 0, 2 and 1: sums 1 + 4 and 2, and in bf16 256 + 1 = 256 (8 bits).
module @sum {
  func.func @f(%x: tensor<i32>, %y: tensor<bf16>) -> (tensor<i32>, tensor<bf16>) {
    %0 = "stablehlo.cross-replica-sum"(%x) {replica_groups = dense<[[0, 2], [1, -1]]> : tensor<2x2xi64>} : (tensor<i32>) -> tensor<i32>
    %1 = "stablehlo.cross-replica-sum"(%y) {replica_groups = dense<[[0, 2], [1, -1]]> : tensor<2x2xi64>} : (tensor<bf16>) -> tensor<bf16>
    return %0, %1 : tensor<i32>, tensor<bf16>
  }
  func.func @main() {
    %a = stablehlo.constant dense<1> : tensor<i32>
    %b = stablehlo.constant dense<2> : tensor<i32>
    %c = stablehlo.constant dense<4> : tensor<i32>
    %one = stablehlo.constant dense<1.0> : tensor<bf16>
    %large = stablehlo.constant dense<256.0> : tensor<bf16>
    %r:6 = "interpreter.run_parallel"(%a, %large, %b, %one, %c, %one) {programs = [[@f], [@f], [@f]]}
      : (tensor<i32>, tensor<bf16>, tensor<i32>, tensor<bf16>, tensor<i32>, tensor<bf16>)
      -> (tensor<i32>, tensor<bf16>, tensor<i32>, tensor<bf16>, tensor<i32>, tensor<bf16>)
    check.expect_eq_const %r#0, dense<5> : tensor<i32>
    check.expect_eq_const %r#1, dense<256.0> : tensor<bf16>
    check.expect_eq_const %r#2, dense<2> : tensor<i32>
    check.expect_eq_const %r#3, dense<1.0> : tensor<bf16>
    check.expect_eq_const %r#4, dense<5> : tensor<i32>
    return
  }
}

// -----

// Two partitions. Partition 0 keeps a (row 0) and sends b, c to rows 1 and 2 of the other; partition 1 sends p to row 2 of
// partition 0 and keeps q in row 0. Rows that nothing reaches stay 0.
module @ragged {
  func.func @f(%rows: tensor<3xi32>, %from: tensor<2xi32>, %send: tensor<2xi32>, %at: tensor<2xi32>, %receive: tensor<2xi32>) -> tensor<4xi32> {
    %start = stablehlo.constant dense<0> : tensor<4xi32>
    %0 = stablehlo.custom_call @ragged_all_to_all(%rows, %start, %from, %send, %at, %receive)
      {api_version = 4 : i32, backend_config = {channel_id = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}}
      : (tensor<3xi32>, tensor<4xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4xi32>
    return %0 : tensor<4xi32>
  }
  func.func @main() {
    %abc = stablehlo.constant dense<[11, 12, 13]> : tensor<3xi32>
    %pq = stablehlo.constant dense<[21, 22, 23]> : tensor<3xi32>
    %from0 = stablehlo.constant dense<[0, 1]> : tensor<2xi32>
    %send0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
    %at0 = stablehlo.constant dense<[0, 1]> : tensor<2xi32>
    %from1 = stablehlo.constant dense<[0, 1]> : tensor<2xi32>
    %send1 = stablehlo.constant dense<[1, 1]> : tensor<2xi32>
    %at1 = stablehlo.constant dense<[2, 0]> : tensor<2xi32>
    %receive0 = stablehlo.constant dense<[1, 1]> : tensor<2xi32>
    %receive1 = stablehlo.constant dense<[2, 1]> : tensor<2xi32>
    %r:2 = "interpreter.run_parallel"(%abc, %from0, %send0, %at0, %receive0, %pq, %from1, %send1, %at1, %receive1) {programs = [[@f, @f]]}
      : (tensor<3xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<3xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
      -> (tensor<4xi32>, tensor<4xi32>)
    check.expect_eq_const %r#0, dense<[11, 0, 21, 0]> : tensor<4xi32>
    check.expect_eq_const %r#1, dense<[22, 12, 13, 0]> : tensor<4xi32>
    return
  }
}
