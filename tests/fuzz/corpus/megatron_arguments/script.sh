TP=4
A=(
 --num-layers 62 --hidden-size 8192 \
 --num-attention-heads 64 --padded-vocab-size 1000)
x --tensor-model-parallel-size $TP --pipeline-model-parallel-size ${PP:-8} --world-size 64 --global-batch-size 64
