"""The base classes of Head: data that all of them share (`bound`), the stages of calls
(`inspected`), calls on slices of the vocabulary (`sliced`), plans (`planned`), and float64
(`referenced`).

They define the methods for users. How calls are made is in `routes`.
"""
