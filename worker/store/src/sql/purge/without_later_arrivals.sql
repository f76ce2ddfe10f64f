SELECT id FROM cases
WHERE id {in_list}
    AND NOT EXISTS (
        SELECT 1 FROM arrivals AS later
        WHERE later.case_id = cases.id AND later.received_at >= $2
    )
