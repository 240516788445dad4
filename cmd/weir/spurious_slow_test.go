//go:build slow

package main

import "testing"

// 400 of all combinations.
func TestNothingSentTwiceOften(t *testing.T) { drawWaits(t, 2, 400) }
