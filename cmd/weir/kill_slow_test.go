//go:build slow

package main

import "testing"

// TestKillAnywhere with as many kills as it takes to meet every kind of file.
func TestKillAnywhereLong(t *testing.T) { killAnywhere(t, 120) }
