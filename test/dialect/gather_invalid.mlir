// RUN: %refused %s

func.func @a(%x: f32, %index: i32) {
  // expected-error @+1 {{'logitile.gather' op failed to verify that all of {value, result} have same type}}
  %0 = "logitile.gather"(%x, %index) : (f32, i32) -> i32
  return
}

// -----

func.func @a(%x: f32, %index: index) {
  // expected-error @+1 {{'logitile.gather' op operand #1 must be 32-bit signless integer, but got 'index'}}
  %0 = "logitile.gather"(%x, %index) : (f32, index) -> f32
  return
}

// -----

logitile.loss @a vocab 5 outputs ["l"] {
  %x = logitile.input token "x" : f32
  %t = logitile.input token "t" : i32
  // expected-error @+1 {{'logitile.gather' op picks from a uniform value, which has no entries}}
  %l = logitile.gather %x[%t] : f32
  logitile.yield %l : f32
}

// -----

logitile.loss @a vocab 5 outputs ["l"] {
  %z = logitile.input logits "z" : f32
  %column = logitile.column : i32
  // expected-error @+1 {{'logitile.gather' op 'index' varies along the vocabulary; it must be one per token}}
  %l = logitile.gather %z[%column] : f32
  logitile.yield %l : f32
}

// -----

logitile.loss @a vocab 5 outputs ["l"] {
  %z = logitile.input logits "z" : f32
  %t = logitile.input token "t" : i32
  %top = logitile.reduce top %z places 2 : f32 -> f32
  // expected-error @+1 {{'logitile.gather' op picks from a list at an index that is no constant}}
  %l = logitile.gather %top[%t] : f32
  logitile.yield %l : f32
}

// -----

logitile.loss @a vocab 5 outputs ["l"] {
  %z = logitile.input logits "z" : f32
  %two = arith.constant 2 : i32
  %top = logitile.reduce top %z places 2 : f32 -> f32
  // expected-error @+1 {{'logitile.gather' op picks place 2 of a list, which has 2}}
  %l = logitile.gather %top[%two] : f32
  logitile.yield %l : f32
}
