"""The parts that Head is made of: what all parts know of the head (`bound`), what calls become
(`inspected`), calls on slices of the vocabulary (`sliced`), plans (`planned`), and float64
(`referenced`).

They say what users may ask for, and hand it on. How calls are made is not here, but in `routes`.
"""
