"""What bench/cpu.py and bench/neighbours.py share: cases,
contenders in processes of their own, rounds.
"""
