SELECT alert, report FROM alerts
JOIN conclusions ON conclusions.case_id = alerts.case_id AND conclusions.revision = alerts.revision
WHERE alerts.case_id = $1 AND alerts.revision = $2
