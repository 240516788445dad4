package tcp

import (
	"testing"

	"weir/internal/testkit/testutil"
)

func TestDocNamesTests(t *testing.T) { testutil.CheckDocTests(t, 30) }
