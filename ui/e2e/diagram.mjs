// Where elements and flows stand in a drawing.
export const shape = (id, x, y, width, height) => `<bpmndi:BPMNShape id="${id}-s" bpmnElement="${id}"><dc:Bounds x="${x}" y="${y}" width="${width}" height="${height}"/></bpmndi:BPMNShape>`;
export const edge = (id, from, to) => `<bpmndi:BPMNEdge id="${id}-e" bpmnElement="${id}"><di:waypoint x="${from}" y="120"/><di:waypoint x="${to}" y="120"/></bpmndi:BPMNEdge>`;
