# Charges a card: reads the variables of the job as JSON, prints those of the result.
# An exit code other than 0 fails the job, with what is printed on standard error.
amount=$(sed -n 's/.*"amount": *\([0-9]*\).*/\1/p')
if [ -z "$amount" ]; then
    echo "there is no amount" >&2
    exit 1
fi
if [ "$amount" -le 500 ]; then
    echo '{"charged": true}'
else
    echo '{"charged": false}'
fi
