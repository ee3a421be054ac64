"""What anybody knows: names, kinds, prices, cities, and which values are usual and agree."""
