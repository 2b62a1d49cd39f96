#!/bin/bash
#SBATCH --array=1-16
#SBATCH --cpus-per-task=2
#SBATCH --time=04:00:00
# The first task coordinates and plays, the others play for it. The folder `out` is on a file system that all can read;
# the token was made by: openssl rand -hex 32 > out/token
set -e
if [ "$SLURM_ARRAY_TASK_ID" = 1 ]; then
  hostname -f > out/host.tmp && mv out/host.tmp out/host
  if [ -s out/run ]; then
    seatrial resume out/run --listen nats://0.0.0.0:4222 --token-file out/token
  else
    seatrial run out/suite --model openai/NAME --base-url http://node1:8000/v1 --concurrency 64 --out out/run \
      --listen nats://0.0.0.0:4222 --token-file out/token
  fi
  rm -f out/host
else
  until [ -s out/host ]; do sleep 2; done
  seatrial worker "nats://$(cat out/host):4222" --token-file out/token --cache "${TMPDIR:-/tmp}/seatrial"
fi
