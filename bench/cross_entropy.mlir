// The plan of cross entropy with kept logits; bench/kernels.cpp fills in what starts with a dollar sign.
module @cross_entropy attributes {logitile.request = #logitile.request<pairs = [#logitile.pair<"z", hidden = $D, element = $IN>], dense = {},
  gradients = ["z.hidden", "z.weight"], gradient_elements = {}, mode = early, tokens = $N, workspace = 268435456, chunks = 0,
  accumulate = false, target = "cpu:$TIER", threads = 2>} {
 logitile.program @cross_entropy vocab $V outputs [#logitile.output<"loss" : f32>] indices ["target"] checked [] {
    logitile.sweep @sweep0 forward state ["max" : f32, "sum" : f32, "pick" : f32] init {
      %lowest = arith.constant 0xFF7FFFFF : f32
      %zero = arith.constant 0.0 : f32
      logitile.yield %lowest, %zero, %zero : f32, f32, f32
    } bound {
      %z = logitile.input logits "z" : f32
      logitile.yield %z : f32
    } update {
    ^bb0(%max: f32, %sum: f32, %pick: f32):
      %z = logitile.input logits "z" : f32
      %target = logitile.input token "target" : i32
      %x = arith.subf %z, %max : f32
      %e = math.exp %x : f32
      %next = arith.addf %sum, %e : f32
      %column = logitile.column : i32
      %is = arith.cmpi eq, %column, %target : i32
      %nextPick = arith.select %is, %z, %pick : f32
      logitile.yield %max, %next, %nextPick : f32, f32, f32
    } merge {
    ^bb0(%max_a: f32, %sum_a: f32, %pick_a: f32, %max_b: f32, %sum_b: f32, %pick_b: f32):
      %gt = arith.cmpf ogt, %max_b, %max_a : f32
      %max = arith.select %gt, %max_b, %max_a : f32
      %da = arith.subf %max_a, %max : f32
      %db = arith.subf %max_b, %max : f32
      %ea = math.exp %da : f32
      %eb = math.exp %db : f32
      %wa = logitile.weigh %ea, %sum_a : f32
      %wb = logitile.weigh %eb, %sum_b : f32
      %sum = arith.addf %wa, %wb : f32
      %pick = arith.addf %pick_a, %pick_b : f32
      logitile.yield %max, %sum, %pick : f32, f32, f32
    }
    logitile.finish @finish0 forward of @sweep0 results ["loss" : f32, "max" : f32, "log_sum" : f32] {
    ^bb0(%max: f32, %sum: f32, %pick: f32):
      %log = math.log %sum : f32
      %lse = arith.addf %max, %log : f32
      %loss = arith.subf %lse, %pick : f32
      logitile.yield %loss, %max, %log : f32, f32, f32
    }
    logitile.finish @adjoint adjoint results ["row.z.0" : f32, "up": f32] {
      %up = logitile.input upstream "loss" : f32
      %down = arith.negf %up : f32
      logitile.yield %down, %up : f32, f32
    }
    logitile.gradient {
      %z = logitile.input logits "z" : f32
      %max = logitile.input known "max" : f32
      %log = logitile.input known "log_sum" : f32
      %up = logitile.input known "up" : f32
      %row = logitile.input known "row.z.0" : f32
      %target = logitile.input token "target" : i32
      %x = arith.subf %z, %max : f32
      %y = arith.subf %x, %log : f32
      %p = math.exp %y : f32
      %dz = logitile.weigh %p, %up : f32
      logitile.adjoint logits "z" dense %dz rows [%target -> %row]
    }
    logitile.schedule tokens [0, 4096) slab $SLAB kept $V {
      logitile.buffer "z.hidden" input : !logitile.view<?x$Dx$IN>
      logitile.buffer "z.weight" input : !logitile.view<$Vx$Dx$IN>
      logitile.buffer "gradient.z.hidden" output : !logitile.view<?x$Dx$IN>
      logitile.buffer "gradient.z.weight" output : !logitile.view<$Vx$Dx$IN>
      logitile.buffer "sum.z.weight" call : !logitile.view<$Vx$Dxf32>
      logitile.buffer "map" call : !logitile.view<?xi32>
      logitile.buffer "target" call : !logitile.view<?xi32>
      logitile.buffer "upstream.loss" call : !logitile.view<?xf32>
      logitile.buffer "known.loss" call : !logitile.view<?xf32>
      logitile.buffer "known.max" chunk : !logitile.view<?xf32>
      logitile.buffer "known.log_sum" chunk : !logitile.view<?xf32>
      logitile.buffer "known.row.z.0" chunk : !logitile.view<?xf32>
      logitile.buffer "known.up" chunk : !logitile.view<?xf32>
      logitile.buffer "packed.z.rows" chunk : !logitile.view<?x$Dx$OP, row_panels>
      logitile.buffer "packed.z.columns" chunk : !logitile.view<?x$Dx$OP, column_panels>
      logitile.buffer "kept.z" chunk : !logitile.view<?x$Vxf32, column_major>
      logitile.buffer "grad.z" chunk alias "kept.z" : !logitile.view<?x$Vx$G, column_major>
      logitile.buffer "rows.sweep0.max" chunk : !logitile.view<$SLABSx?xf32>
      logitile.buffer "rows.sweep0.sum" chunk : !logitile.view<$SLABSx?xf32>
      logitile.buffer "rows.sweep0.pick" chunk : !logitile.view<$SLABSx?xf32>
      logitile.run forward {
        logitile.loop tokens $CHUNK {
          logitile.launch "pack_z_rows" from @pack<TM = 32, D = $D, in = $IN, op = $OP> views {source = "z.hidden", packed = "packed.z.rows"}
          logitile.launch "sweep0" from @project_sweep<TM = $TM, TN = $TN, TK = $KP, acc = f32> sweep @sweep0 keep
          logitile.launch "finish0" from @finish<TM = $TM> sweep @sweep0 finish @finish0
          logitile.launch "adjoint" from @finish<TM = $TM> finish @adjoint
          logitile.launch "gradient" from @gradient_kept<TM = $TM, TN = $TN, acc = f32>
          logitile.launch "z_hidden" from @contract_hidden<TM = $TM, TD = $HD, TK = $KH, D = $D, in = $IN, g = $G, out = $IN, acc = f32> input "z" views {grad = "grad.z", weight = "z.weight", out = "gradient.z.hidden"}
          logitile.launch "pack_z_columns" from @pack<TM = 32, D = $D, in = $IN, op = $OP> views {source = "z.hidden", packed = "packed.z.columns"}
          logitile.launch "z_weight" from @contract_weight<TN = $WN, TD = $TD, TK = $KW, D = $D, op = $OP, g = $G, out = f32, acc = f32> input "z" views {grad = "grad.z", hidden = "packed.z.columns", out = "$WEIGHTOUT"} again tokens
        }
        $ROUND
      }
    }
  }
}
