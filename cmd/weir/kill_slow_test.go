//go:build slow

package main

import "testing"

// TestKillAnywhere with as many kills as it takes to meet every kind of file.
func TestKillAnywhereLong(t *testing.T) { killAnywhere(t, "2", 120) }

func TestKillAnywhereByNeedLong(t *testing.T) { killAnywhere(t, fourByNeed, 60) }
