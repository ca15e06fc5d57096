"""Decisions a second, learning included: our PPO through arrays beside Stable-Baselines3 and a CleanRL-style PPO.

    python benchmarks/learning_speed.py [--decisions 200000] [--repeats 3]

All three learn sequential-voting (p = .7, c = .01) with two hidden layers of 64 units, four epochs of four minibatches
and batches of about 8,192 decisions, on one thread, in this one process. The peers act through the Gymnasium wrapper,
eight environments in lockstep, as their users would; ours acts through the array form. Also: steps a second of the
array form alone. Medians over the repeats. Needs gymnasium and stable-baselines3; a peer that is missing is left out
and said so.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from orchestrace.envs import by_name
from orchestrace.training import parse
from orchestrace.training.loop import train

SETTINGS = {"p": 0.7, "c": 0.01}
ENVS, HIDDEN, EPOCHS, MINIBATCHES, BATCH = 8, 64, 4, 4, 8192
GOAL = 3.0


def array_steps(decisions):
    """Steps a second of the array form, no learner: 8,192 episodes at once, asking four times in five."""
    env, rng = by_name("sequential-voting", SETTINGS), np.random.default_rng(0)
    states, done = env.reset(8192, rng), 0
    began = time.perf_counter()
    while done < decisions:
        states = env.step(states, (rng.random(len(states)) < 0.8).astype(np.int64), rng).states
        done += len(states)
    return done / (time.perf_counter() - began)


def ours(decisions):
    """The whole loop: play, learn, evaluate exactly, save."""
    recipe = parse(f"""
        env = {{name = "sequential-voting", p = {SETTINGS["p"]}, c = {SETTINGS["c"]}}}
        updates = {max(2, decisions // BATCH)}
        [rollouts]
        episodes = 900
        [eval]
        episodes = 100
        every = 1000
    """)
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        result = train(recipe, Path(folder) / "run", clock=time.monotonic)
        return result.decisions / (time.perf_counter() - began)


def wrapped():
    """One environment, as a Gymnasium user has it."""
    from orchestrace.envs.wrappers.gymnasium_form import gymnasium_env

    return gymnasium_env(by_name("sequential-voting", SETTINGS), observe="features")


def stable_baselines(decisions):
    """PPO of Stable-Baselines3 over DummyVecEnv."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import DummyVecEnv

    model = PPO(
        "MlpPolicy", DummyVecEnv([wrapped] * ENVS), n_steps=BATCH // ENVS, batch_size=BATCH // MINIBATCHES,
        n_epochs=EPOCHS, gamma=1.0, policy_kwargs={"net_arch": [HIDDEN, HIDDEN]}, device="cpu", seed=0,
    )  # fmt: skip
    began = time.perf_counter()
    model.learn(decisions)
    return model.num_timesteps / (time.perf_counter() - began)


def layers(inputs, outputs):
    """A perceptron of two hidden layers."""
    return torch.nn.Sequential(
        torch.nn.Linear(inputs, HIDDEN), torch.nn.Tanh(), torch.nn.Linear(HIDDEN, HIDDEN), torch.nn.Tanh(),
        torch.nn.Linear(HIDDEN, outputs),
    )  # fmt: skip


def cleanrl_style(decisions):
    """One-file PPO in the manner of CleanRL: a lockstep vector of environments, tensors of [steps, envs]."""
    import gymnasium

    torch.manual_seed(0)
    envs = gymnasium.vector.SyncVectorEnv([wrapped] * ENVS)
    actor = layers(envs.single_observation_space.shape[0], int(envs.single_action_space.n))
    critic = layers(envs.single_observation_space.shape[0], 1)
    optimiser = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=3e-3, eps=1e-5)
    seen, _ = envs.reset(seed=0)
    done, steps = np.zeros(ENVS), 0
    began = time.perf_counter()
    while steps < decisions:
        rows, seen, done = rollout(envs, actor, critic, seen, done)
        steps += BATCH
        improve(rows, actor, critic, optimiser)
    return steps / (time.perf_counter() - began)


def rollout(envs, actor, critic, seen, done):
    """BATCH decisions, then advantages by GAE."""
    length = BATCH // ENVS
    rows = {name: [] for name in ("seen", "action", "logprob", "value", "reward", "done")}
    for _ in range(length):
        x = torch.as_tensor(np.asarray(seen), dtype=torch.float32)
        with torch.no_grad():
            chances = torch.distributions.Categorical(logits=actor(x))
            action, value = chances.sample(), critic(x).squeeze(-1)
        for name, part in (("seen", x), ("action", action), ("logprob", chances.log_prob(action)), ("value", value)):
            rows[name].append(part)
        rows["done"].append(torch.as_tensor(done, dtype=torch.float32))
        seen, reward, ended, cut, _ = envs.step(action.numpy())
        done = np.logical_or(ended, cut)
        rows["reward"].append(torch.as_tensor(reward, dtype=torch.float32))
    stacked = {name: torch.stack(parts) for name, parts in rows.items()}
    with torch.no_grad():
        ahead = critic(torch.as_tensor(np.asarray(seen), dtype=torch.float32)).squeeze(-1)
    advantage, carried = torch.zeros_like(stacked["reward"]), 0.0
    going = 1 - torch.as_tensor(done, dtype=torch.float32)
    for t in reversed(range(length)):
        delta = stacked["reward"][t] + ahead * going - stacked["value"][t]
        advantage[t] = carried = delta + 0.95 * going * carried
        ahead, going = stacked["value"][t], 1 - stacked["done"][t]
    stacked |= {"advantage": advantage, "target": advantage + stacked["value"]}
    return {name: part.flatten(0, 1) for name, part in stacked.items()}, seen, done


def improve(rows, actor, critic, optimiser):
    """EPOCHS passes in MINIBATCHES parts."""
    for _ in range(EPOCHS):
        for part in torch.randperm(BATCH).chunk(MINIBATCHES):
            chances = torch.distributions.Categorical(logits=actor(rows["seen"][part]))
            ratio = (chances.log_prob(rows["action"][part]) - rows["logprob"][part]).exp()
            credit = rows["advantage"][part]
            credit = (credit - credit.mean()) / (credit.std() + 1e-8)
            surrogate = torch.minimum(ratio * credit, ratio.clamp(0.8, 1.2) * credit).mean()
            error = 0.5 * (critic(rows["seen"][part]).squeeze(-1) - rows["target"][part]).square().mean()
            optimiser.zero_grad()
            (0.5 * error - surrogate - 0.01 * chances.entropy().mean()).backward()
            torch.nn.utils.clip_grad_norm_([*actor.parameters(), *critic.parameters()], 0.5)
            optimiser.step()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--decisions", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    torch.set_num_threads(1)
    alone = statistics.median(array_steps(20 * given.decisions) for _ in range(given.repeats))
    print(f"array form, no learner          {alone:12,.0f} decisions/s (goal 1,000,000)")
    rates = {}
    for name, measured in (("ours", ours), ("Stable-Baselines3", stable_baselines), ("CleanRL-style", cleanrl_style)):
        try:
            rates[name] = statistics.median(measured(given.decisions) for _ in range(given.repeats))
        except ModuleNotFoundError as missing:
            print(f"{name:32}left out: {missing.name} is not installed", file=sys.stderr)
            continue
        times = "" if name == "ours" else f"   ours is {rates['ours'] / rates[name]:.1f} times faster (goal {GOAL:g})"
        print(f"{name + ' PPO':32}{rates[name]:12,.0f} decisions/s{times}", flush=True)


if __name__ == "__main__":
    main()
