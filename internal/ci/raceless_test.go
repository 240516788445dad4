package main

import "testing"

func TestRacelessReasons(t *testing.T) {
	const reason = "// Left out of race: it takes an hour.\n"
	for _, x := range []struct {
		name, header string
		want         bool
	}{
		{"no constraint", "", true},
		{"another constraint", "//go:build system && !linux\n\n", true},
		{"race alone", "//go:build race\n\n", true},
		{"a reason", "//go:build !race\n\n" + reason + "\n", true},
		{"a reason in a stage", "// A comment.\n\n//go:build system && !linux && !race\n\n" + reason + "\n", true},
		{"no reason", "//go:build !race\n\n", false},
		{"no reason in a stage", "//go:build system && !linux && !race\n\n", false},
		{"an empty reason", "//go:build !race\n\n// Left out of race: \n\n", false},
		{"another comment", "//go:build !race\n\n// It takes an hour.\n\n", false},
	} {
		t.Run(x.name, func(t *testing.T) {
			src := x.header + "package x\n\n// text has a constraint that is none:\nvar text = `\n//go:build !race\n`\n"
			if got := givesRaceReason(src); got != x.want {
				t.Errorf("%v for\n%s", got, src)
			}
		})
	}
}
