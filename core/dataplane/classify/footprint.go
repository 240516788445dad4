package classify

import "weir/core/dataplane"

// Footprint returns the use by one table.
func (c *program) Footprint() dataplane.Footprint {
	return dataplane.Footprint{Stages: []dataplane.Stage{{Name: "class", Gress: dataplane.InIngress,
		Tables: []dataplane.TableUse{{Name: "class by DSCP", Entries: len(c.class), Key: dataplane.IndexBits(len(c.class)),
			Action: dataplane.WidthOf(c.class[0])}}}}}
}
