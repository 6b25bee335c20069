"""stub until merged"""
def greedy(r,b): 
    return lru(r)
def lru(r):
    import math
    a=1+r
    w=-a*math.exp(-a); x=-0.1
    for _ in range(100):
        x=x-(x*math.exp(x)-w)/(math.exp(x)*(1+x))
    return a/(a+x)
