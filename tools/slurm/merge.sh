#!/bin/sh
#SBATCH --job-name=pipecast-merge
#SBATCH --requeue
#SBATCH --open-mode=append
# Joins the parts of a study; submit.sh lets it follow the array. Its output is the study's answer.
# usage: sbatch merge.sh FOLDER STUDY.db
set -eu
exec "${PIPECAST:-pipecast}" study merge "$1"/*.db --out "$2"
