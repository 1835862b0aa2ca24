"""Losses of Liger Kernel 0.8, in modules that are named like Liger's: `transformers` has the fused
cross-entropy and the fused divergences, `chunked_loss` preferences, distillation and policies,
`ops` the classes of which code calls `apply`.

    from logitile.integrations.liger.transformers import LigerFusedLinearCrossEntropyLoss
    from logitile.integrations.liger.chunked_loss import LigerFusedLinearDPOLoss

docs/integrations/liger.md says what differs.
"""
