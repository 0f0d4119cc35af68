"""Writes tests/golden/random.txt: numbers drawn by NumPy itself, in many orders of calls."""

import numpy as np
for seed in [0,1,7,123456789,2**32-1,2**32,2**40+3]:
    g=np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    for r in range(300):
        k=(r*7+seed)%8
        if k==0: v=[g.random()]
        elif k==1: v=[g.uniform(-5,7.5)]
        elif k==2: v=[g.normal(1.0)]
        elif k==3: v=[g.integers(1,4)]
        elif k==4: v=[int(g.choice(5))]
        elif k==5: v=g.choice(range(4),size=2,replace=False).tolist()
        elif k==6:
            a=np.arange(14).reshape(7,2).astype(float); g.shuffle(a); v=a[:,0].tolist()
        else: v=[g.standard_normal()]
        print(seed,k,*[float(x).hex() for x in v])
