// A sum of what is picked: the gradient at each place reads no list.
// RUN: %python %S/check_stages.py %s
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 40, element = f32>], dense = {},
    gradients = [<hidden of "z">, <weight of "z">], mode = split, tokens = 100, workspace = 100000000, chunks = 0,
    accumulate = false, target = "$TARGET", threads = 2>} {
  logitile.loss @list_of_picks vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
    %z = logitile.input logits "z" : f32
    %indices = logitile.input token "indices" places 50 : i32
    %picked = logitile.gather %z[%indices] : f32
    %loss = logitile.sum_list %picked : f32
    logitile.yield %loss : f32
  }
}
