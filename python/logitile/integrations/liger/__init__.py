"""Losses of Liger Kernel 0.8, in modules that are named like Liger's: `transformers` has the fused
cross-entropy and the fused Jensen-Shannon divergence.

    from logitile.integrations.liger.transformers import LigerFusedLinearCrossEntropyLoss

docs/integrations/liger.md says what differs.
"""
