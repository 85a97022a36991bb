"""One estimator a file: outcome records in, frozen results with exact fractions out.

Every mean is a fraction of integer cents until `to_json`, which rounds it half to even to a cent.
No mean is taken over an unequal set: a seed enters the means when all its planned runs are there,
and results name the runs that are missing.
"""
