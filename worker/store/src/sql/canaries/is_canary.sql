-- Matches canaries by the columns of the index of storms.
cases.feed = 'canary' AND cases.type = 'Nightshift:Canary' AND {is_without_account}
