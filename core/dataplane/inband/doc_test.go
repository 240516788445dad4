package inband

import (
	"testing"

	"weir/internal/testutil"
)

func TestDocNamesTests(t *testing.T) { testutil.CheckDocTests(t, 10) }
