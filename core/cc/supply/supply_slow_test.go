//go:build slow

package supply_test

import "testing"

func TestFairToRTTsFull(t *testing.T) {
	fairToRTTs(t, 20, []maker{makers[0], makers[1], makers[3], makers[7]}, 25, 500)
}
