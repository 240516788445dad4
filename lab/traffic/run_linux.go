package traffic

import (
	"context"
	"errors"
)

// Run carries the traffic of a run out.
func Run(ctx context.Context, c Config) (*Result, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	return nil, errors.New("traffic: being written")
}
