"""Computes reference.json, the figures that reference_test.go compares with.

    pip install numpy scipy statsmodels
    python3 reference.py > reference.json

It shares no code with the package: each figure comes from numpy, scipy or statsmodels.
"""
import json

import numpy as np
import statsmodels.api as sm
from scipy import stats
from scipy.special import comb
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.inter_rater import fleiss_kappa
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import zt_ind_solve_power
from statsmodels.stats.proportion import proportion_confint

rng = np.random.default_rng(17)
cases = []
for number in range(12):
    tasks = int(rng.integers(8, 40))
    trials = rng.integers(2, 6, tasks)
    chance = rng.beta(1.5, 1, tasks)
    right = rng.binomial(trials, chance)
    outcomes = np.concatenate([[1] * r + [0] * (n - r) for n, r in zip(trials, right)]).astype(float)
    groups = np.repeat(np.arange(tasks), trials)
    fit = sm.OLS(outcomes, np.ones_like(outcomes)).fit(cov_type="cluster", cov_kwds={"groups": groups})
    rate, se = float(fit.params[0]), float(fit.bse[0])
    n = len(outcomes)
    rates = right / trials
    within = sum(((outcomes[groups == g] - outcomes[groups == g].mean()) ** 2).sum() for g in range(tasks)) / (n - tasks)
    other = np.clip(rates + rng.choice([-0.5, 0, 0, 0.5], tasks), 0, 1)
    k = 2
    heaviest = trials.max()  # the bound below, with one more cluster that failed
    sums, weights = np.append(right, 0), np.append(trials, heaviest)
    centre = sums.sum() / weights.sum()
    bootstrap = rng.integers(0, tasks, (20000, tasks))
    ratios = other[bootstrap].sum(1) / np.maximum(rates[bootstrap].sum(1), 1e-12)
    spread = np.sqrt((tasks + 1) / tasks * ((sums - centre * weights) ** 2).sum()) / weights.sum()
    t = stats.t.ppf(0.95, tasks - 1)
    cases.append({
        "valid": trials.tolist(), "right": right.tolist(), "other": other.tolist(),
        "rate": rate, "standard_error": se, "design_effect": se**2 / (rate * (1 - rate) / (n - 1)),
        "within": within, "between": max(0, rates.var(ddof=1) - within * (1 / trials).mean()),
        "correlation": None if rates.std() == 0 or other.std() == 0 else float(np.corrcoef(rates, other)[0, 1]),
        "pass_2": float((comb(right, k) / comb(trials, k)).mean()),
        "lower_95": centre - t * spread - max(0, t * t - 1) * (right.sum() / n) * heaviest / weights.sum() / 3,
        "ratio": float(other.sum() / rates.sum()), "ratio_low": float(np.quantile(ratios, 0.025)),
        "ratio_high": float(np.quantile(ratios, 0.975)),
    })
pairs = [(int(a), int(b)) for a, b in rng.integers(0, 15, (10, 2))]
flips = [rng.choice([-1, -0.5, 0, 0.5, 1], 9).tolist() for _ in range(6)]
families = [np.round(rng.uniform(0, 0.2, 6), 4).tolist() for _ in range(5)]
yes = rng.integers(0, 6, 30)
amounts = [rng.lognormal(0, 1, int(n)).tolist() for n in (2, 3, 5, 30)]
print(json.dumps({
    "cases": cases,
    "mcnemar": [{"a": a, "b": b, "p": float(mcnemar([[0, a], [b, 0]], exact=True).pvalue)} for a, b in pairs],
    "sign_flip": [{"differences": d, "p": float(stats.permutation_test(
        (np.array(d),), lambda x, axis: x.sum(axis=axis), permutation_type="samples", n_resamples=np.inf,
        vectorized=True).pvalue)} for d in flips],
    "holm": [{"p": p, "adjusted": multipletests(p, method="holm")[1].tolist()} for p in families],
    "wilson": [{"n": n, "interval": list(proportion_confint(0, n, method="wilson"))} for n in (5, 20, 100)],
    "variation": [{"values": v, "coefficient": float(stats.variation(v, ddof=1))} for v in amounts],
    "fleiss": {"yes": yes.tolist(), "raters": 5, "kappa": float(fleiss_kappa(np.column_stack([yes, 5 - yes])))},
    "power": [{"variance": v, "difference": d, "power": w, "alpha": a, "tasks": float(zt_ind_solve_power(
        effect_size=d / np.sqrt(v), alpha=a, power=w, ratio=0))}
        for v, d, w, a in ((0.3, 0.05, 0.8, 0.05), (0.12, 0.1, 0.9, 0.05), (0.5, 0.03, 0.8, 0.01))],
}))
