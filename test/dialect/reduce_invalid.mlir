// RUN: %refused %s

func.func @a(%x: i32) {
  // expected-error @+1 {{'logitile.reduce' op 'sum' takes f32, got 'i32'}}
  %0 = logitile.reduce sum %x : i32 -> i32
  return
}

// -----

func.func @a(%x: f32) {
  // expected-error @+1 {{'logitile.reduce' op 'max' of 'f32' gives 'f32', not 'i32'}}
  %0 = logitile.reduce max %x : f32 -> i32
  return
}

// -----

func.func @a(%x: i1) {
  // expected-error @+1 {{'logitile.reduce' op 'argmax' takes f32, got 'i1'}}
  %0 = logitile.reduce argmax %x : i1 -> i32
  return
}

// -----

func.func @a(%x: f32) {
  // expected-error @+1 {{'logitile.reduce' op 'argmin' of 'f32' gives 'i32', not 'f32'}}
  %0 = logitile.reduce argmin %x : f32 -> f32
  return
}

// -----

func.func @a(%x: f32) {
  // expected-error @+1 {{'logitile.reduce' op 'count' takes i1, got 'f32'}}
  %0 = logitile.reduce count %x : f32 -> i32
  return
}

// -----

func.func @a(%x: i1) {
  // expected-error @+1 {{'logitile.reduce' op 'count' of 'i1' gives 'i32', not 'i1'}}
  %0 = logitile.reduce count %x : i1 -> i1
  return
}

// -----

func.func @a(%x: f32) {
  // expected-error @+1 {{'logitile.reduce' op 'any' takes i1, got 'f32'}}
  %0 = logitile.reduce any %x : f32 -> i1
  return
}

// -----

func.func @a(%x: i1) {
  // expected-error @+1 {{'logitile.reduce' op 'all' of 'i1' gives 'i1', not 'i32'}}
  %0 = logitile.reduce all %x : i1 -> i32
  return
}

// -----

func.func @a(%x: f32) {
  // expected-error @+1 {{'logitile.reduce' op 'verbatim' is for sums, not for 'mean'}}
  %0 = logitile.reduce mean verbatim %x : f32 -> f32
  return
}

// -----

logitile.loss @a vocab 5 outputs ["l"] {
  %t = logitile.input token "t" : f32
  // expected-error @+1 {{'logitile.reduce' op 'mean' of a uniform value: it is the same for every vocabulary entry}}
  %l = logitile.reduce mean %t : f32 -> f32
  logitile.yield %l : f32
}

// -----

func.func @a(%x: f32) {
  // expected-error @+1 {{'logitile.reduce' op 'top' needs 'places', the length of its list}}
  %0 = logitile.reduce top %x : f32 -> f32
  return
}

// -----

func.func @a(%x: f32) {
  // expected-error @+1 {{'logitile.reduce' op 'sum' takes no 'places'; it gives one value}}
  %0 = logitile.reduce sum %x places 5 : f32 -> f32
  return
}

// -----

func.func @a(%x: f32) {
  // expected-error @+1 {{'logitile.reduce' op 'places' is 1025; a list has 1 to 1024}}
  %0 = logitile.reduce argtop %x places 1025 : f32 -> i32
  return
}

// -----

func.func @a(%x: f32) {
  // expected-error @+1 {{'logitile.reduce' op 'argtop' of 'f32' gives 'i32', not 'f32'}}
  %0 = logitile.reduce argtop %x places 5 : f32 -> f32
  return
}

// -----

logitile.loss @a vocab 5 outputs ["l"] {
  %z = logitile.input logits "z" : f32
  // expected-error @+1 {{'logitile.reduce' op 'places' is 6, but the vocabulary has 5 entries}}
  %l = logitile.reduce top %z places 6 : f32 -> f32
  logitile.yield %l : f32
}

// -----

logitile.loss @a vocab 5 outputs ["l"] {
  %z = logitile.input logits "z" : f32
  %top = logitile.reduce top %z places 2 : f32 -> f32
  // expected-error @+1 {{'math.exp' op reads the values of a list of largest entries, which a loss can only yield; to compute with them, gather the entries at the indices of 'argtop'}}
  %l = math.exp %top : f32
  logitile.yield %l : f32
}
