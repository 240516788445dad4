// Package all links all optional parts into a program, as the program weir does.
package all

import (
	_ "weir/app/agent"
	_ "weir/app/figure"
	_ "weir/app/jetstream"
	_ "weir/app/page"
	_ "weir/app/parquet"
	_ "weir/app/pcapng"
	_ "weir/app/slurm"
	_ "weir/app/softswitch"
)
