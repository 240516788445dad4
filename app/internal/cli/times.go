package cli

import (
	_ "embed"
	"strconv"
	"strings"
)

// timesFile has a line for each experiment of the library: name, digest of its file, estimated seconds.
//
//go:embed times.txt
var timesFile string

// times returns the estimated seconds of experiments by name.
func times() map[string]float64 {
	all := map[string]float64{}
	for line := range strings.Lines(timesFile) {
		if f := strings.Fields(line); len(f) == 3 && f[0] != "#" {
			all[f[0]], _ = strconv.ParseFloat(f[2], 64)
		}
	}
	return all
}
