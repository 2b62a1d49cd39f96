package compile

// The tools of the slot style and their closed values, as package relation names them.
const (
	toolFilter    = "filter_data"
	toolTransform = "transform_data"
	toolGroup     = "group_data_by"
	toolAggregate = "aggregate_data"
	toolSort      = "sort_data"
	toolUnique    = "select_unique_values"
	toolRetrieve  = "retrieve_data"
	toolCombine   = "combine_data"
	toolJoin      = "join_data"

	profilePaper = "paper"

	joinInner = "inner"
	joinLeft  = "left"
	joinCross = "cross"
)

// delivers are the tools that hand rows to the agent, not only a label.
var delivers = map[string]bool{toolAggregate: true, toolUnique: true, toolRetrieve: true}
