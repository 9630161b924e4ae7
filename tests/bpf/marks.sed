# Counts the stores of hit marks, instead of making them.
s/hits\[slot\] = now;/hits[slot]++;/
